import { v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import { parseJob, validateSubmittedJob, type WorkloadContext } from '../../workload/index.ts'
import { json, jsonText } from '../answer.ts'
import { read, type Endpoint, type WatchedRead, type V1Request } from './endpoint.ts'
import { requireAll, inNamespace, inAnyNamespace } from './requirements.ts'
import { workOrigin } from '../slices.ts'

const mayParse = requireAll(inNamespace('parse-job'), inNamespace('submit-job'))

export function jobFileEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.parseJob, mayParse, (request) => ok(parseJobRoute(context, request))),
    read(v1Routes.validateJob, inAnyNamespace('read-job'), (request) =>
      ok(validateJobRoute(context, request)),
    ),
  ]
}

function parseJobRoute(
  context: WorkloadContext,
  { body, namespace, ...request }: V1Request<typeof v1Routes.parseJob>,
): WatchedRead {
  return {
    index: () => context.store.index,
    // Independent of the state.
    watch: [],
    respond: async () => {
      const parsed = await parseJob(context, { body, namespace, origin: workOrigin(request) })
      return parsed.ok ? ok(jsonText(parsed.value)) : parsed
    },
  }
}

function validateJobRoute(
  context: WorkloadContext,
  { caller, body, query, ...request }: V1Request<typeof v1Routes.validateJob>,
): WatchedRead {
  const submitted = {
    body,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
    origin: workOrigin(request),
  }
  return {
    index: () => context.store.index,
    watch: [{ table: 'jobs' }],
    respond: async () => {
      const validated = await validateSubmittedJob(context, caller, submitted)
      return validated.ok ? ok(json(validated.value)) : validated
    },
  }
}
