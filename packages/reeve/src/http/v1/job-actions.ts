import { v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import { refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { jobActions, type WorkloadContext } from '../../workload/index.ts'
import { read, type Endpoint } from './endpoint.ts'
import { inNamespace } from './requirements.ts'
import { readRow } from './row-reads.ts'

/** Returns the route that lists the actions of a job. */
export function jobActionEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listJobActions, inNamespace('read-job'), ({ namespace, params }) =>
      ok(
        readRow(store.tables.jobs, {
          key: namespacedKey(namespace, params.job_id),
          notFound: refusal('job-not-found', 'job not found'),
          render: jobActions,
        }),
      ),
    ),
  ]
}
