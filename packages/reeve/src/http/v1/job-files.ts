import { v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import { parseJob, validateSubmittedJob, type WorkloadContext } from '../../workload/index.ts'
import { json, jsonText } from '../answer.ts'
import { read, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { both, inNamespace, somewhere } from './requirements.ts'
import { originOf } from '../slices.ts'

const mayParse = both(inNamespace('parse-job'), inNamespace('submit-job'))

export function jobFileEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.parseJob, mayParse, (request) => ok(parse(context, request))),
    read(v1Routes.validateJob, somewhere('read-job'), (request) => ok(validate(context, request))),
  ]
}

function parse(
  context: WorkloadContext,
  { body, namespace, ...request }: RequestOf<typeof v1Routes.parseJob>,
): ReadPlan {
  return {
    index: () => context.store.index,
    // Independent of the state.
    watch: [],
    answer: async () => {
      const parsed = await parseJob(context, { body, namespace, origin: originOf(request) })
      return parsed.ok ? ok(jsonText(parsed.value)) : parsed
    },
  }
}

function validate(
  context: WorkloadContext,
  { caller, body, query, ...request }: RequestOf<typeof v1Routes.validateJob>,
): ReadPlan {
  const submitted = {
    body,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
    origin: originOf(request),
  }
  return {
    index: () => context.store.index,
    watch: [{ table: 'jobs' }],
    answer: async () => {
      const validated = await validateSubmittedJob(context, caller, submitted)
      return validated.ok ? ok(json(validated.value)) : validated
    },
  }
}
