import type { NodeRequest, NodeStreamRequest, RemoteError } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/**
 * The way to the nodes for everything a caller asks of one. Where the node's connection ends is
 * this seam's business alone: today it is this server.
 */
export interface NodeGateway {
  /** The node's answer, as it gave it: not yet held against any shape. */
  request(
    nodeId: string,
    request: NodeRequest,
    deadlineMs?: number,
  ): Promise<Result<unknown, Refusal>>
  /** A stream that the node has opened. Nothing of it is read before someone listens. */
  open(nodeId: string, opening: StreamOpeningRequest): Promise<Result<StreamSocket, Refusal>>
}

export interface StreamOpeningRequest {
  readonly request: NodeStreamRequest
  /** Who it is for; empty when callers cannot be told apart. */
  readonly accessorId: string
}

export const NO_PATH_TO_NODE: Refusal = refusal('node-unreachable', 'No path to node')
/** A server that has just started knows its nodes by their rows before they are back. */
export const NODE_CONNECTING: Refusal = refusal(
  'node-connecting',
  'the node has not connected to this server yet; try again in some seconds',
)
export const NODE_SILENT: Refusal = refusal('node-silent', 'the node did not answer in time')

const CODES: Readonly<Record<number, Refusal['code']>> = {
  400: 'invalid-input',
  403: 'permission-denied',
  404: 'not-on-node',
  429: 'too-many-node-calls',
}

/** Codes that a node may choose by itself; agents of earlier versions send none. */
const NODE_CODES: ReadonlySet<string> = new Set<Refusal['code']>([
  'allocation-not-on-node',
  'file-forbidden',
  'file-not-found',
  'file-unreadable',
  'path-outside-allocation',
  'secret-file',
  'signal-unknown',
  'task-not-running',
  'volume-plugin-failed',
])

function isNodeCode(code: string | undefined): code is Refusal['code'] {
  return code !== undefined && NODE_CODES.has(code)
}

/** The refusal of a node as the caller gets it. */
export function refusalOfNode({ status, message, code }: RemoteError): Refusal {
  return refusal(isNodeCode(code) ? code : (CODES[status] ?? 'node-failed'), message)
}
