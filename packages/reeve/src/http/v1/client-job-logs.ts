import { v1Routes, type Job, type LogType } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { EVERY_LOG_TYPE, isJobOver, jobLogSources } from '../../workload/index.ts'
import { TEXT_TYPE, type Answer } from '../answer.ts'
import type { StreamingHost } from './client-allocations.ts'
import { allowedIn, isLogType, position } from './client-files.ts'
import { read, type Endpoint, type RequestOf } from './endpoint.ts'
import { LogMerge } from './log-merge.ts'
import { asked } from './node-answer.ts'
import { inNamespace } from './requirements.ts'
import { whileAllowed } from './stream-rights.ts'

/** Time for which changes of allocations are collected before new ones are looked up. */
const LOOK_MS = 250

const LOGS = ['read-logs', 'read-fs'] as const

/** Returns the route that streams the output of a whole job, as its allocations start and stop. */
export function jobLogEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.streamJobLogs, inNamespace(...LOGS), (request) =>
      asked(async () => stream(host, request)),
    ),
  ]
}

function stream(
  { context, gateway, authenticator }: StreamingHost,
  { caller, secret, namespace, params, query }: RequestOf<typeof v1Routes.streamJobLogs>,
): Result<Answer, Refusal> {
  const { store, clock } = context
  const types = typesOf(query.type ?? '')
  if (!types.ok) return types
  const from = position(query)
  if (!from.ok) return from
  const jobId = params.job_id
  const job = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  const task = query.task ?? ''
  const question = { namespace, jobId, task, types: types.value }
  // A task of an earlier version still has its output.
  const isKnown = hasTask(job, task) || jobLogSources(context, question).length > 0
  if (!isKnown) return err(refusal('invalid-input', `unknown task name ${JSON.stringify(task)}`))
  const merge = new LogMerge({
    gateway,
    clock,
    accessorId: caller.accessorId,
    follow: query.follow ?? false,
    hasPrefix: query.prefix ?? false,
    from: from.value,
    sources: () => jobLogSources(context, question),
    isOver: () => isJobOver(context, question),
    watch: (changed) => {
      let cancel = store.watches.watch([{ table: 'allocations' }, { table: 'jobs' }], () => {
        cancel = clock.after(LOOK_MS, changed)
      })
      return () => cancel()
    },
  })
  merge.start()
  const allows = allowedIn(namespace, LOGS)
  const reader = { context, authenticator, secret, allows }
  const output = whileAllowed(merge.output, reader)
  return ok({ body: { kind: 'stream', stream: output, contentType: TEXT_TYPE } })
}

function hasTask({ TaskGroups }: Job, name: string): boolean {
  return name === '' || (TaskGroups ?? []).some(({ Tasks }) => Tasks?.some((t) => t.Name === name))
}

function typesOf(text: string): Result<readonly LogType[], Refusal> {
  if (text === '') return ok(EVERY_LOG_TYPE)
  if (isLogType(text)) return ok([text])
  return err(refusal('invalid-input', 'must provide log type (stdout/stderr)'))
}
