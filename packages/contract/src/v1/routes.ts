import { aclPolicyRoutes } from './acl-policy.ts'
import { aclRoleRoutes } from './acl-role.ts'
import { aclTokenRoutes } from './acl-token.ts'
import { agentRoutes } from './agent.ts'
import { allocationRoutes } from './allocation-routes.ts'
import { auditRoutes } from './audit.ts'
import { clientFsRoutes } from './client-fs.ts'
import { clientStatsRoutes } from './client-stats.ts'
import { clusterLevelRoutes } from './cluster-level.ts'
import { databaseRoutes, snapshotRoutes, systemRoutes } from './operator.ts'
import { deploymentRoutes } from './deployment.ts'
import { evaluationRoutes } from './evaluation.ts'
import { eventRoutes } from './event.ts'
import { execRoutes } from './exec.ts'
import { hostVolumeRoutes } from './host-volume.ts'
import { jobReadRoutes } from './job-read-routes.ts'
import { jobStatusRoutes } from './job-status.ts'
import { jobWriteRoutes } from './job-write-routes.ts'
import { namespaceRoutes } from './namespace.ts'
import { nodeAdmissionRoutes } from './node-admission.ts'
import { nodePoolRoutes } from './node-pool.ts'
import { nodeRoutes } from './node-routes.ts'
import { policyVerdictRoutes } from './policy-verdict.ts'
import { scalingPolicyRoutes } from './scaling-policy.ts'
import { schedulerConfigurationRoutes } from './scheduler-configuration.ts'
import { searchRoutes } from './search.ts'
import { serviceRoutes } from './service-registration.ts'
import { telemetryRoutes } from './telemetry.ts'
import { topologyRoutes } from './topology.ts'
import { variableRoutes } from './variable.ts'

/**
 * Every route of the workload API, by id. Where two paths match, the one with fewer parameters
 * wins.
 */
export const v1Routes: V1Routes = {
  ...hostVolumeRoutes,
  ...jobReadRoutes,
  ...jobWriteRoutes,
  ...jobStatusRoutes,
  ...policyVerdictRoutes,
  ...allocationRoutes,
  ...execRoutes,
  ...evaluationRoutes,
  ...deploymentRoutes,
  ...eventRoutes,
  ...nodeRoutes,
  ...nodeAdmissionRoutes,
  ...nodePoolRoutes,
  ...topologyRoutes,
  ...namespaceRoutes,
  ...aclTokenRoutes,
  ...aclPolicyRoutes,
  ...aclRoleRoutes,
  ...scalingPolicyRoutes,
  ...serviceRoutes,
  ...variableRoutes,
  ...searchRoutes,
  ...clientFsRoutes,
  ...clientStatsRoutes,
  ...agentRoutes,
  ...schedulerConfigurationRoutes,
  ...clusterLevelRoutes,
  ...databaseRoutes,
  ...snapshotRoutes,
  ...systemRoutes,
  ...telemetryRoutes,
  ...auditRoutes,
}

/** Named, because declarations would have to repeat every route otherwise. */
export type V1Routes = typeof hostVolumeRoutes &
  typeof jobReadRoutes &
  typeof jobWriteRoutes &
  typeof jobStatusRoutes &
  typeof policyVerdictRoutes &
  typeof allocationRoutes &
  typeof execRoutes &
  typeof evaluationRoutes &
  typeof deploymentRoutes &
  typeof eventRoutes &
  typeof nodeRoutes &
  typeof nodeAdmissionRoutes &
  typeof nodePoolRoutes &
  typeof topologyRoutes &
  typeof namespaceRoutes &
  typeof aclTokenRoutes &
  typeof aclPolicyRoutes &
  typeof aclRoleRoutes &
  typeof scalingPolicyRoutes &
  typeof serviceRoutes &
  typeof variableRoutes &
  typeof searchRoutes &
  typeof clientFsRoutes &
  typeof clientStatsRoutes &
  typeof agentRoutes &
  typeof schedulerConfigurationRoutes &
  typeof clusterLevelRoutes &
  typeof databaseRoutes &
  typeof snapshotRoutes &
  typeof systemRoutes &
  typeof telemetryRoutes &
  typeof auditRoutes
export type V1RouteId = keyof V1Routes
