import { Job, type JobSummary } from '@reeve/contract'
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
  const summaryOf = (job: Job): JobSummary | undefined =>
    tables.job_summaries.find(namespacedKey(job.Namespace, job.ID))
  const withMeta = query.meta ?? false
  return {
    walk,
    query,
    filter: JOB_FILTER,
    stub: (job) => jobStub(job, summaryOf(job), { withMeta }),
    ...(!withMeta && { stubText: (job: Job) => stubText(job, summaryOf(job)) }),
  }
}

interface ToldStub {
  readonly summary: JobSummary | undefined
  readonly text: string
}

/**
 * Lists are asked for again and again, and most jobs are as they were: a row that has changed is
 * another object. A text goes with the decoded row it was made from, of which there are only so
 * many (`decodedRowsMax`).
 */
const toldStubs = new WeakMap<Job, ToldStub>()

function stubText(job: Job, summary: JobSummary | undefined): string {
  const told = toldStubs.get(job)
  if (told !== undefined && told.summary === summary) return told.text
  const text = JSON.stringify(jobStub(job, summary))
  toldStubs.set(job, { summary, text })
  return text
}
