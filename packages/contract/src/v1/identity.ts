import * as t from './shared-schemas.ts'

export const WorkloadIdentity = t.Object(
  {
    Name: t.String({ default: 'default' }),
    Audience: t.Nullable(t.Array(t.String())),
    ChangeMode: t.String({ description: '`noop`, `restart` or `signal`.' }),
    ChangeSignal: t.String(),
    Env: t.Boolean({ description: 'Give the identity to the task in its environment.' }),
    File: t.Boolean({ description: 'Give the identity to the task as a file.' }),
    Filepath: t.String(),
    ServiceName: t.String(),
    TTL: t.Nanoseconds('How long it is valid; 0 for as long as the allocation lives.'),
  },
  { $id: 'WorkloadIdentity', description: 'A signed identity that a task is given.' },
)
export type WorkloadIdentity = t.Infer<typeof WorkloadIdentity>

export const DiscoveryBlock = t.Object(
  { Namespace: t.String(), Cluster: t.String(), Partition: t.String() },
  { $id: 'DiscoveryBlock', description: 'Where services go in an external service catalogue.' },
)
export type DiscoveryBlock = t.Infer<typeof DiscoveryBlock>
