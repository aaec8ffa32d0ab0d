module github.com/kith-crm/kith/sandbox

go 1.26
