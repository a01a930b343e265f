import { Type } from 'typebox'
import { Named, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { OpaqueObject } from './shared-schemas.ts'
import { WorkloadIdentity } from './identity.ts'

export const CheckRestart = Named('CheckRestart', {
  Limit: Type.Integer({ description: 'Failures in a row before the task is restarted; 0 is off.' }),
  Grace: Nanoseconds('Time after a start during which failures do not count.'),
  IgnoreWarnings: Type.Boolean(),
})
export type CheckRestart = Infer<typeof CheckRestart>

export const ServiceCheck = Named('ServiceCheck', 'How the health of a service is found out.', {
  Name: Type.String(),
  Type: Type.String({ description: '`http`, `tcp`, `script` or `grpc`.' }),
  Command: Type.String(),
  Args: Nullable(Type.Array(Type.String())),
  Path: Type.String(),
  Protocol: Type.String(),
  PortLabel: Type.String(),
  Expose: Type.Boolean(),
  AddressMode: Type.String(),
  Interval: Nanoseconds(),
  Timeout: Nanoseconds(),
  InitialStatus: Type.String(),
  Method: Type.String(),
  Header: Nullable(MapOf(Type.Array(Type.String()))),
  Body: Type.String(),
  TLSServerName: Type.String(),
  TLSSkipVerify: Type.Boolean(),
  CheckRestart: Nullable(CheckRestart),
  GRPCService: Type.String(),
  GRPCUseTLS: Type.Boolean(),
  TaskName: Type.String(),
  SuccessBeforePassing: Type.Integer(),
  FailuresBeforeCritical: Type.Integer(),
  FailuresBeforeWarning: Type.Integer(),
  Notes: Type.String(),
  OnUpdate: Type.String(),
})
export type ServiceCheck = Infer<typeof ServiceCheck>

export const ServiceWeights = Named('ServiceWeights', {
  Passing: Type.Integer(),
  Warning: Type.Integer(),
})
export type ServiceWeights = Infer<typeof ServiceWeights>

export const Service = Named('Service', 'A network service that a group or a task offers.', {
  Name: Type.String({ description: '`<job>-<group>-<task>` when not given.' }),
  TaskName: Type.String(),
  PortLabel: Type.String(),
  AddressMode: Type.String({ default: 'auto' }),
  Address: Type.String(),
  Tags: Nullable(Type.Array(Type.String())),
  CanaryTags: Nullable(Type.Array(Type.String())),
  EnableTagOverride: Type.Boolean(),
  Checks: Nullable(Type.Array(ServiceCheck)),
  CheckRestart: Type.Optional(Nullable(CheckRestart)),
  Meta: Nullable(MapOf(Type.String())),
  CanaryMeta: Nullable(MapOf(Type.String())),
  TaggedAddresses: Nullable(MapOf(Type.String())),
  Namespace: Type.String(),
  OnUpdate: Type.String({ default: 'require_healthy' }),
  Provider: Type.String({ description: '`service` (built in) or `discovery` (external).' }),
  Cluster: Type.String(),
  Connect: Nullable(OpaqueObject('Mesh settings of the external catalogue.')),
  Weights: Nullable(ServiceWeights),
  Identity: Nullable(WorkloadIdentity),
  Kind: Type.String(),
})
export type Service = Infer<typeof Service>
