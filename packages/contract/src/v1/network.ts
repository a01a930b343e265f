import { Type } from 'typebox'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'

export const Port = Named('Port', {
  Label: Type.String(),
  Value: Type.Integer({ description: 'Port on the host; 0 until a dynamic port is chosen.' }),
  To: Type.Integer({ description: 'Port inside the network; -1 means the same as on the host.' }),
  HostNetwork: Type.String({ description: 'Name of the host network whose address is used.' }),
  IgnoreCollision: Type.Boolean({ description: 'Do not check that a static port is free.' }),
})
export type Port = Infer<typeof Port>

export const DnsConfig = Named('DnsConfig', 'Name resolution inside the network of the group.', {
  Servers: Nullable(Type.Array(Type.String())),
  Searches: Nullable(Type.Array(Type.String())),
  Options: Nullable(Type.Array(Type.String())),
})
export type DnsConfig = Infer<typeof DnsConfig>

export const CniConfig = Named('CniConfig', 'Arguments for a network plugin.', {
  Args: Nullable(MapOf(Type.String())),
})
export type CniConfig = Infer<typeof CniConfig>

/** Also what a node offers and an allocation received. */
export const NetworkResource = Named('NetworkResource', 'One network: its mode and its ports.', {
  Mode: Type.String({ description: '`host`, `none`, `bridge` or `cni/<name>`; empty is `host`.' }),
  Device: Type.String(),
  CIDR: Type.String(),
  IP: Type.String(),
  Hostname: Type.String(),
  MBits: Type.Integer(),
  DNS: Nullable(DnsConfig),
  ReservedPorts: Nullable(Type.Array(Port)),
  DynamicPorts: Nullable(Type.Array(Port)),
  CNI: Nullable(CniConfig),
})
export type NetworkResource = Infer<typeof NetworkResource>

export const AllocatedPort = Type.Object(
  { Label: Type.String(), Value: Type.Integer(), To: Type.Integer(), HostIP: Type.String() },
  { $id: 'AllocatedPort', description: 'A port of the host that an allocation holds.' },
)
export type AllocatedPort = Infer<typeof AllocatedPort>
