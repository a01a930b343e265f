import { v1Routes, type Job, type LogType } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { ALL_LOG_TYPES, isJobFinished, jobLogSources } from '../../workload/index.ts'
import { TEXT_PLAIN, type HttpResponse } from '../answer.ts'
import type { StreamingHost } from './client-allocations.ts'
import { allowedIn, isLogType, parsePosition } from './client-files.ts'
import { read, type Endpoint, type V1Request } from './endpoint.ts'
import { JobLogStream } from './log-merge.ts'
import { unwatchedRead } from './node-answer.ts'
import { inNamespace } from './requirements.ts'
import { closeOnRevoke } from './stream-rights.ts'

/** Time for which changes of allocations are collected before new ones are looked up. */
const DEBOUNCE_MS = 250

const LOG_CAPABILITIES = ['read-logs', 'read-fs'] as const

/** Returns the route that streams the output of a whole job, as its allocations start and stop. */
export function jobLogEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.streamJobLogs, inNamespace(...LOG_CAPABILITIES), (request) =>
      unwatchedRead(async () => streamJobLogs(host, request)),
    ),
  ]
}

function streamJobLogs(
  { context, gateway, authenticator }: StreamingHost,
  { caller, token, namespace, params, query }: V1Request<typeof v1Routes.streamJobLogs>,
): Result<HttpResponse, Refusal> {
  const { store, clock } = context
  const types = parseLogTypes(query.type ?? '')
  if (!types.ok) return types
  const from = parsePosition(query)
  if (!from.ok) return from
  const jobId = params.job_id
  const job = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  const task = query.task ?? ''
  const selection = { namespace, jobId, task, types: types.value }
  // A task of an earlier version still has its output.
  const isKnown = hasTask(job, task) || jobLogSources(context, selection).length > 0
  if (!isKnown) return err(refusal('invalid-input', `unknown task name ${JSON.stringify(task)}`))
  const merge = new JobLogStream({
    gateway,
    clock,
    accessorId: caller.accessorId,
    follow: query.follow ?? false,
    hasPrefix: query.prefix ?? false,
    from: from.value,
    sources: () => jobLogSources(context, selection),
    isOver: () => isJobFinished(context, selection),
    watch: (changed) => {
      let cancel = store.watches.watch([{ table: 'allocations' }, { table: 'jobs' }], () => {
        cancel = clock.after(DEBOUNCE_MS, changed)
      })
      return () => cancel()
    },
  })
  merge.start()
  const allows = allowedIn(namespace, LOG_CAPABILITIES)
  const reader = { context, authenticator, secret: token, isAllowed: allows }
  const output = closeOnRevoke(merge.output, reader)
  return ok({ body: { kind: 'stream', stream: output, contentType: TEXT_PLAIN } })
}

function hasTask({ TaskGroups }: Job, name: string): boolean {
  return name === '' || (TaskGroups ?? []).some(({ Tasks }) => Tasks?.some((t) => t.Name === name))
}

function parseLogTypes(text: string): Result<readonly LogType[], Refusal> {
  if (text === '') return ok(ALL_LOG_TYPES)
  if (isLogType(text)) return ok([text])
  return err(refusal('invalid-input', 'must provide log type (stdout/stderr)'))
}
