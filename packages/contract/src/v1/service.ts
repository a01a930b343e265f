import * as t from './shared-schemas.ts'
import { WorkloadIdentity } from './identity.ts'

export const CheckRestart = t.Named('CheckRestart', {
  Limit: t.Integer({ description: 'Failures in a row before the task is restarted; 0 is off.' }),
  Grace: t.Nanoseconds('Time after a start during which failures do not count.'),
  IgnoreWarnings: t.Boolean(),
})
export type CheckRestart = t.Infer<typeof CheckRestart>

export const ServiceCheck = t.Named('ServiceCheck', 'How the health of a service is found out.', {
  Name: t.String(),
  Type: t.String({ description: '`http`, `tcp`, `script` or `grpc`.' }),
  Command: t.String(),
  Args: t.Nullable(t.Array(t.String())),
  Path: t.String(),
  Protocol: t.String(),
  PortLabel: t.String(),
  Expose: t.Boolean(),
  AddressMode: t.String(),
  Interval: t.Nanoseconds(),
  Timeout: t.Nanoseconds(),
  InitialStatus: t.String(),
  Method: t.String(),
  Header: t.Nullable(t.MapOf(t.Array(t.String()))),
  Body: t.String(),
  TLSServerName: t.String(),
  TLSSkipVerify: t.Boolean(),
  CheckRestart: t.Nullable(CheckRestart),
  GRPCService: t.String(),
  GRPCUseTLS: t.Boolean(),
  TaskName: t.String(),
  SuccessBeforePassing: t.Integer(),
  FailuresBeforeCritical: t.Integer(),
  FailuresBeforeWarning: t.Integer(),
  Notes: t.String(),
  OnUpdate: t.String(),
})
export type ServiceCheck = t.Infer<typeof ServiceCheck>

export const ServiceWeights = t.Named('ServiceWeights', {
  Passing: t.Integer(),
  Warning: t.Integer(),
})
export type ServiceWeights = t.Infer<typeof ServiceWeights>

export const Service = t.Named('Service', 'A network service that a group or a task offers.', {
  Name: t.String({ description: '`<job>-<group>-<task>` when not given.' }),
  TaskName: t.String(),
  PortLabel: t.String(),
  AddressMode: t.String({ default: 'auto' }),
  Address: t.String(),
  Tags: t.Nullable(t.Array(t.String())),
  CanaryTags: t.Nullable(t.Array(t.String())),
  EnableTagOverride: t.Boolean(),
  Checks: t.Nullable(t.Array(ServiceCheck)),
  CheckRestart: t.Optional(t.Nullable(CheckRestart)),
  Meta: t.Nullable(t.MapOf(t.String())),
  CanaryMeta: t.Nullable(t.MapOf(t.String())),
  TaggedAddresses: t.Nullable(t.MapOf(t.String())),
  Namespace: t.String(),
  OnUpdate: t.String({ default: 'require_healthy' }),
  Provider: t.String({ description: '`service` (built in) or `discovery` (external).' }),
  Cluster: t.String(),
  Connect: t.Nullable(t.OpaqueObject('Mesh settings of the external catalogue.')),
  Weights: t.Nullable(ServiceWeights),
  Identity: t.Nullable(WorkloadIdentity),
  Kind: t.String(),
})
export type Service = t.Infer<typeof Service>
