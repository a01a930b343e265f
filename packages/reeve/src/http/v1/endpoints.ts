import { v1Routes } from '@reeve/contract'
import { err } from '@reeve/kit/result.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import type { Aliases } from '../../compat/index.ts'
import { refusal } from '../../model/index.ts'
import type { Authenticator, NodeGateway, WorkloadContext } from '../../workload/index.ts'
import type { AuditLog } from '../../audit/index.ts'
import type { GracefulShutdown } from '../transport/shutdown.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { aclEndpoints } from './acl.ts'
import { StateMetrics } from '../metrics/state-metrics.ts'
import { allowAll } from './access.ts'
import { agentDiagnosisEndpoints, agentServerEndpoints } from './agent-diagnosis.ts'
import { agentEndpoints, type AgentInfo, type AgentMetrics } from './agent.ts'
import { allocationEndpoints, allocationWriteEndpoints } from './allocations.ts'
import {
  auditEndpoints,
  operatorEndpoints,
  snapshotEndpoints,
  type SnapshotRestorer,
  systemEndpoints,
} from './operator.ts'
import { clientAllocationEndpoints, clientNodeEndpoints } from './client-operations.ts'
import { clientFileEndpoints, jobLogEndpoints } from './client-files.ts'
import { deploymentEndpoints } from './deployments.ts'
import { evaluationEndpoints, explainEndpoints } from './evaluations.ts'
import { jobActionEndpoints, jobVersionEndpoints, policyVerdictEndpoints } from './job-history.ts'
import { jobEndpoints, jobFileEndpoints, jobLaunchEndpoints, jobPlanEndpoints } from './jobs.ts'
import { jobStatusEndpoints } from './job-statuses.ts'
import { namespaceEndpoints } from './namespaces.ts'
import { nodeAdmissionEndpoints, nodeEndpoints } from './nodes.ts'
import { nodePoolEndpoints } from './node-pools.ts'
import { scalingEndpoints } from './scaling.ts'
import { searchEndpoints } from './search.ts'
import { serviceEndpoints } from './services.ts'
import { topologyEndpoints } from './topology.ts'
import { variableEndpoints } from './variables.ts'
import { volumeEndpoints } from './volumes.ts'
import { type Endpoint, read } from './endpoint.ts'

interface WorkloadDeps {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly requests: NodeGateway
  readonly agent: AgentInfo
  readonly metrics: Metrics
  readonly audit: AuditLog
  readonly lifecycle: GracefulShutdown
  /** Log streams of this server, by token. */
  readonly logFollowers: TenantSlots
  readonly aliases: Aliases
  readonly restoreSnapshot?: SnapshotRestorer
}

/**
 * Creates the metrics of the agent. An expired token is treated as anonymous: a health check must
 * not fail for it.
 */
function agentMetrics(host: WorkloadDeps): AgentMetrics {
  const { store, clock } = host.context
  const { metrics: aliases } = host.aliases
  const named = new StateMetrics({ store, clock, gateway: host.requests, aliases })
  return {
    program: host.metrics,
    namedText: async (secret, slices) => {
      const caller = host.authenticator.authenticate(secret)
      return caller.ok ? await named.text(caller.value, slices) : ''
    },
  }
}

/** Returns every route of `/v1` with its handler; streams and channels are mounted separately. */
export function workloadEndpoints(host: WorkloadDeps): readonly Endpoint[] {
  const { context, authenticator, requests, agent, audit, aliases } = host
  const { lifecycle, logFollowers } = host
  const streaming = { context, authenticator, gateway: requests }
  return [
    ...jobEndpoints(context),
    ...jobVersionEndpoints(context),
    ...jobLaunchEndpoints(context),
    ...jobPlanEndpoints(context),
    ...policyVerdictEndpoints(context),
    ...jobStatusEndpoints(context),
    ...jobActionEndpoints(context),
    ...explainEndpoints(context),
    ...jobFileEndpoints(context),
    ...scalingEndpoints(context),
    ...allocationEndpoints(context),
    ...allocationWriteEndpoints(context),
    ...clientAllocationEndpoints({ context, gateway: requests }),
    ...clientFileEndpoints(streaming),
    ...clientNodeEndpoints({ context, gateway: requests }, agent),
    ...jobLogEndpoints(streaming),
    ...execEndpoints(),
    ...evaluationEndpoints(context),
    ...deploymentEndpoints(context),
    ...nodeEndpoints(context),
    ...nodeAdmissionEndpoints({ context, gateway: requests }),
    ...topologyEndpoints(context),
    ...aclEndpoints(context),
    ...namespaceEndpoints(context),
    ...nodePoolEndpoints(context),
    ...operatorEndpoints(context, agent),
    ...searchEndpoints(context),
    ...serviceEndpoints(context),
    ...volumeEndpoints({ context, gateway: requests }),
    ...variableEndpoints(context, aliases.http.variableDirectories),
    ...snapshotEndpoints(context, host.restoreSnapshot),
    ...systemEndpoints(context),
    ...agentEndpoints(context, agent, agentMetrics(host)),
    ...agentDiagnosisEndpoints({ ...streaming, lifecycle, logFollowers }, agent),
    ...agentServerEndpoints(agent),
    ...auditEndpoints(context, audit),
  ]
}

/**
 * Returns the routes of `exec-channel.ts`, which answer requests without an upgrade with an error.
 */
function execEndpoints(): readonly Endpoint[] {
  return [v1Routes.execAllocation, v1Routes.runJobAction].map((route) =>
    read(route, allowAll, () => err(refusal('invalid-input', 'websocket upgrade required'))),
  )
}
