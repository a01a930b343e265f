import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import type { Aliases } from '../../compat/index.ts'
import type { Authenticator, NodeGateway, WorkloadContext } from '../../workload/index.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { GracefulShutdown } from '../lifecycle.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { aclEndpoints } from './acl.ts'
import { StateMetrics } from '../metrics/state-metrics.ts'
import { agentDiagnosisEndpoints } from './agent-diagnosis.ts'
import { agentServerEndpoints } from './agent-servers.ts'
import { agentEndpoints, type AgentInfo, type AgentMetrics } from './agent.ts'
import { allocationWriteEndpoints } from './allocation-writes.ts'
import { allocationEndpoints } from './allocations.ts'
import { auditEndpoints } from './audit.ts'
import { clientAllocationEndpoints } from './client-allocations.ts'
import { clientFileEndpoints } from './client-files.ts'
import { jobLogEndpoints } from './client-job-logs.ts'
import { clientNodeEndpoints } from './client-nodes.ts'
import { deploymentEndpoints } from './deployments.ts'
import { evaluationEndpoints } from './evaluations.ts'
import { execEndpoints } from './exec.ts'
import { explainEndpoints } from './explain.ts'
import { jobActionEndpoints } from './job-actions.ts'
import { jobFileEndpoints } from './job-files.ts'
import { jobLaunchEndpoints } from './job-launches.ts'
import { jobPlanEndpoints } from './job-plan.ts'
import { jobStatusEndpoints } from './job-statuses.ts'
import { jobVersionEndpoints } from './job-versions.ts'
import { jobEndpoints } from './jobs.ts'
import { namespaceEndpoints } from './namespaces.ts'
import { nodeAdmissionEndpoints } from './node-admission.ts'
import { nodePoolEndpoints } from './node-pools.ts'
import { nodeEndpoints } from './nodes.ts'
import { operatorEndpoints } from './operator.ts'
import { scalingEndpoints } from './scaling.ts'
import { policyVerdictEndpoints } from './policy-verdicts.ts'
import { searchEndpoints } from './search.ts'
import { serviceEndpoints } from './services.ts'
import { snapshotEndpoints } from './snapshot.ts'
import { systemEndpoints } from './system.ts'
import { topologyEndpoints } from './topology.ts'
import { variableEndpoints } from './variables.ts'
import { volumeEndpoints } from './volumes.ts'
import type { Endpoint } from './endpoint.ts'

export interface WorkloadDeps {
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
}

/**
 * Creates the metrics of the agent. An expired token is treated as anonymous: a health check must
 * not fail for it.
 */
function agentMetrics(host: WorkloadDeps): AgentMetrics {
  const { store, clock } = host.context
  const named = new StateMetrics({ store, clock, aliases: host.aliases.metrics })
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
    ...snapshotEndpoints(context),
    ...systemEndpoints(context),
    ...agentEndpoints(context, agent, agentMetrics(host)),
    ...agentDiagnosisEndpoints({ ...streaming, lifecycle, logFollowers }, agent),
    ...agentServerEndpoints(agent),
    ...auditEndpoints(context, audit),
  ]
}
