import { Job } from '@reeve/contract'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { jobStub } from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import type { PageQuery } from '../list-page.ts'
import type { ListOptions } from './list-answer.ts'
import type { Walk } from './walks.ts'

const JOB_FILTER = { kinds: fieldKindsFromSchema(Job) }

/** Stubs of the jobs of a walk: the lists of all jobs and of a node pool's (reference §3.6). */
export function jobList(
  { tables }: Store,
  walk: Walk<Job>,
  query: PageQuery & { readonly meta?: boolean | undefined },
): ListOptions<Job> {
  return {
    walk,
    query,
    filter: JOB_FILTER,
    stub: (job) =>
      jobStub(job, tables.job_summaries.find(namespacedKey(job.Namespace, job.ID)), {
        withMeta: query.meta ?? false,
      }),
  }
}
