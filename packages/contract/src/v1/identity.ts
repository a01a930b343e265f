import { Type } from 'typebox'
import { Nanoseconds, Nullable, type Infer } from '../schema.ts'

export const WorkloadIdentity = Type.Object(
  {
    Name: Type.String({ default: 'default' }),
    Audience: Nullable(Type.Array(Type.String())),
    ChangeMode: Type.String({ description: '`noop`, `restart` or `signal`.' }),
    ChangeSignal: Type.String(),
    Env: Type.Boolean({ description: 'Give the identity to the task in its environment.' }),
    File: Type.Boolean({ description: 'Give the identity to the task as a file.' }),
    Filepath: Type.String(),
    ServiceName: Type.String(),
    TTL: Nanoseconds('How long it is valid; 0 for as long as the allocation lives.'),
  },
  { $id: 'WorkloadIdentity', description: 'A signed identity that a task is given.' },
)
export type WorkloadIdentity = Infer<typeof WorkloadIdentity>

export const DiscoveryBlock = Type.Object(
  { Namespace: Type.String(), Cluster: Type.String(), Partition: Type.String() },
  { $id: 'DiscoveryBlock', description: 'Where services go in an external service catalogue.' },
)
export type DiscoveryBlock = Infer<typeof DiscoveryBlock>
