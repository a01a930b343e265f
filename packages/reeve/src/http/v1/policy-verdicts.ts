import { PolicyVerdict, v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { read, type Endpoint } from './endpoint.ts'
import { namespaceScope, READ_JOB, requestScope, watchTables } from './namespace-scope.ts'
import { inNamespace } from './requirements.ts'
import { listWatched } from './row-reads.ts'
import { filterVisible, scanIndex, scanByKey } from './walks.ts'

const VERDICT_FILTER = { rowType: fieldTypeFromSchema(PolicyVerdict) }

const mayRead = inNamespace('read-job')

/** Returns the routes for denials and overrides of job submissions. */
export function policyVerdictEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { policy_verdicts: verdicts } = store.tables
  const listOptions = { filter: VERDICT_FILTER, stub: (row: PolicyVerdict) => row }
  return [
    read(v1Routes.listPolicyVerdicts, mayRead, (request) => {
      const { caller, namespace, query } = request
      const { prefix = '' } = query
      const watched = watchTables(store, ['policy_verdicts'], requestScope(request, READ_JOB))
      const walk = filterVisible(
        scanByKey(verdicts, namespace === '*' ? '' : `${namespace}!`),
        (row) => row.JobID.startsWith(prefix) && caller.grants.allows(row.Namespace, 'read-job'),
      )
      return ok(listWatched(watched, () => ({ ...listOptions, scan: walk, query })))
    }),
    read(v1Routes.listJobVerdicts, mayRead, ({ namespace, params, query }) => {
      const { job_id: jobId } = params
      const watched = watchTables(store, ['policy_verdicts'], namespaceScope(namespace))
      const walk = scanIndex(verdicts, 'job', namespacedKey(namespace, jobId))
      return ok(listWatched(watched, () => ({ ...listOptions, scan: walk, query })))
    }),
  ]
}
