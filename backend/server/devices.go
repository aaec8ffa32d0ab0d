package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/text"
)

// DeviceInfo is an entry of the list of devices.
type DeviceInfo struct {
	ID, Name              string
	ReadOnly              bool
	CreatedAt, LastUsedAt time.Time
}

func deviceInfo(t *account.PersonalToken) DeviceInfo {
	return DeviceInfo{t.ID, t.Name, t.ReadOnly(), t.CreatedAt, t.LastUsedAt}
}

// CreateDevice creates a device of a member. It returns its description and its app password, which is not stored.
func (a *Admin) CreateDevice(ctx context.Context, username, name string, readOnly bool) (made DeviceInfo, password string, err error) {
	name = text.Line(name)
	if err := account.CheckName(name); err != nil {
		return made, "", err
	}
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return made, "", err
	}
	device, password := account.NewDevice(m.Access(), name, readOnly)
	err = account.CreatePersonalToken(ctx, a.store, device)
	if err := a.record(ctx, err, account.DeviceAdded, m.ID, device.ID); err != nil {
		return made, "", err
	}
	return deviceInfo(device), password, nil
}

// ListDevices returns a member's devices, newest first.
func (a *Admin) ListDevices(ctx context.Context, username string) ([]DeviceInfo, error) {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return nil, err
	}
	devices, err := account.ListDevices(ctx, a.store, m.ID)
	infos := make([]DeviceInfo, len(devices))
	for i := range devices {
		infos[i] = deviceInfo(&devices[i])
	}
	return infos, err
}

// RemoveDevice removes a member's device. The next request with its app password is refused.
func (a *Admin) RemoveDevice(ctx context.Context, username, deviceID string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = account.RemoveDevice(ctx, a.store, m.ID, deviceID)
	return a.record(ctx, err, account.AccessRevoked, m.ID, deviceID)
}
