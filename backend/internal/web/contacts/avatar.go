package contacts

import "github.com/kith-crm/kith/backend/internal/web/page"

// Avatar is a person's picture.
type Avatar = page.Avatar

func avatarOf(id, name string) Avatar { return page.AvatarOf(id, name) }
