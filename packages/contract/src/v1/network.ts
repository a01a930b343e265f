import * as t from './shared-schemas.ts'

export const Port = t.Named('Port', {
  Label: t.String(),
  Value: t.Integer({ description: 'Port on the host; 0 until a dynamic port is chosen.' }),
  To: t.Integer({ description: 'Port inside the network; -1 means the same as on the host.' }),
  HostNetwork: t.String({ description: 'Name of the host network whose address is used.' }),
  IgnoreCollision: t.Boolean({ description: 'Do not check that a static port is free.' }),
})
export type Port = t.Infer<typeof Port>

export const DnsConfig = t.Named('DnsConfig', 'Name resolution inside the network of the group.', {
  Servers: t.Nullable(t.Array(t.String())),
  Searches: t.Nullable(t.Array(t.String())),
  Options: t.Nullable(t.Array(t.String())),
})
export type DnsConfig = t.Infer<typeof DnsConfig>

export const CniConfig = t.Named('CniConfig', 'Arguments for a network plugin.', {
  Args: t.Nullable(t.MapOf(t.String())),
})
export type CniConfig = t.Infer<typeof CniConfig>

/** Also what a node offers and an allocation received. */
export const NetworkResource = t.Named('NetworkResource', 'One network: its mode and its ports.', {
  Mode: t.String({ description: '`host`, `none`, `bridge` or `cni/<name>`; empty is `host`.' }),
  Device: t.String(),
  CIDR: t.String(),
  IP: t.String(),
  Hostname: t.String(),
  MBits: t.Integer(),
  DNS: t.Nullable(DnsConfig),
  ReservedPorts: t.Nullable(t.Array(Port)),
  DynamicPorts: t.Nullable(t.Array(Port)),
  CNI: t.Nullable(CniConfig),
})
export type NetworkResource = t.Infer<typeof NetworkResource>

export const AllocatedPort = t.Object(
  { Label: t.String(), Value: t.Integer(), To: t.Integer(), HostIP: t.String() },
  { $id: 'AllocatedPort', description: 'A port of the host that an allocation holds.' },
)
export type AllocatedPort = t.Infer<typeof AllocatedPort>
