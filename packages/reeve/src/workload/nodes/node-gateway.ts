import type { NodeRequest, NodeStreamRequest, RemoteError } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/**
 * Access to nodes for API requests. Only implementations know where the node's connection ends:
 * currently on this server.
 */
export interface NodeGateway {
  /** Returns the node's response, not yet validated. */
  request(
    nodeId: string,
    request: NodeRequest,
    deadlineMs?: number,
  ): Promise<Result<unknown, Refusal>>
  /** Opens a stream to the node. Nothing is read before it has a listener. */
  open(nodeId: string, opening: OpenStreamRequest): Promise<Result<StreamSocket, Refusal>>
}

export interface OpenStreamRequest {
  readonly request: NodeStreamRequest
  /** Accessor of the caller; empty if callers cannot be distinguished. */
  readonly accessorId: string
}

export const NO_PATH_TO_NODE: Refusal = refusal('node-unreachable', 'No path to node')
/** Refusal for a known node that has not reconnected since this server started. */
export const NODE_CONNECTING: Refusal = refusal(
  'node-connecting',
  'the node has not connected to this server yet; try again in some seconds',
)
export const NODE_TIMEOUT: Refusal = refusal('node-silent', 'the node did not answer in time')

const REFUSAL_CODE_BY_STATUS: Readonly<Record<number, Refusal['code']>> = {
  400: 'invalid-input',
  403: 'permission-denied',
  404: 'not-on-node',
  429: 'too-many-node-calls',
}

/** Error codes that a node may set; agents of earlier versions send none. */
const CODES_FROM_NODES: ReadonlySet<string> = new Set<Refusal['code']>([
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
  return code !== undefined && CODES_FROM_NODES.has(code)
}

/** Returns a node's error as a refusal for the caller. */
export function refusalFromNode({ status, message, code }: RemoteError): Refusal {
  return refusal(
    isNodeCode(code) ? code : (REFUSAL_CODE_BY_STATUS[status] ?? 'node-failed'),
    message,
  )
}
