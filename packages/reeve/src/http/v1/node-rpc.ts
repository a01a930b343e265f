import type { NodeRequest, Infer } from '@reeve/contract'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Clean } from 'typebox/value'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { NodeGateway } from '../../workload/index.ts'
import { EMPTY_RESPONSE, json, type HttpResponse } from '../response.ts'
import type { WatchedRead } from './endpoint.ts'

/** A request to a node. */
interface NodeCall {
  readonly nodeId: string
  readonly request: NodeRequest
  readonly deadlineMs?: number
}

/**
 * Sends a request to a node and validates the response by the route's schema: nodes are not
 * trusted.
 */
export function nodeRpc<S extends TSchema>(
  schema: S,
): (gateway: NodeGateway, call: NodeCall) => Promise<Result<Infer<S>, Refusal>> {
  const checker = Compile(schema)
  return async (gateway, { nodeId, request, deadlineMs }) => {
    const answer = await gateway.request(nodeId, request, deadlineMs)
    if (!answer.ok) return answer
    const value = Clean(schema, answer.value)
    // Validated by the check above.
    if (checker.Check(value)) return ok(value as Infer<S>)
    return err(refusal('node-failed', 'the node gave an answer that cannot be read'))
  }
}

/** Plans a read that does not depend on the state: there is no index to wait for. */
export function unwatchedRead(
  respond: () => Promise<Result<HttpResponse, Refusal>>,
): Result<WatchedRead, never> {
  return ok({ index: () => 0, watch: [], readsState: false, respond })
}

export function jsonResult(result: Result<unknown, Refusal>): Result<HttpResponse, Refusal> {
  return result.ok ? ok(json(result.value)) : result
}

export function emptyResult(result: Result<unknown, Refusal>): Result<HttpResponse, Refusal> {
  return result.ok ? ok(EMPTY_RESPONSE) : result
}
