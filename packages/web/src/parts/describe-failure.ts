import { ApiError, ConnectionError } from '@reeve/sdk'

interface Described {
  readonly title: string
  readonly text: string
  readonly advice: string
  readonly canSignIn?: boolean
}

/** What the server said, in its words, and what can be done about it. */
export function describeFailure(error: unknown): Described {
  if (error instanceof ApiError) return describeRefusal(error)
  if (error instanceof ConnectionError)
    return {
      title: 'The server cannot be reached.',
      text: error.message,
      advice: 'Check that it is running and that this address is correct.',
    }
  return {
    title: 'This page failed.',
    text: error instanceof Error ? error.message : String(error),
    advice: 'Load it again. If it happens again, please report it.',
  }
}

function describeRefusal(error: ApiError): Described {
  const { code, status, text, requestId } = error
  if (status === 401 || status === 403)
    return {
      title: 'You do not have permission.',
      text,
      advice: 'Ask for a token with the permission, or sign in with another token.',
      canSignIn: true,
    }
  if (code === 'allocation-not-on-node')
    return {
      title: 'The node has no files of this allocation.',
      text,
      advice:
        'It has not begun with it yet, or has removed them: of allocations that have ended, a node keeps the latest only. The overview still says what happened.',
    }
  if (status === 404)
    return {
      title: 'Not found.',
      text,
      advice: 'It may have been deleted, be in another namespace, or be hidden from this token.',
      canSignIn: true,
    }
  if (status >= 500)
    return {
      title: 'The server failed.',
      text,
      advice: `It wrote the reason to its log${requestId === undefined ? '' : ` as request ${requestId}`}.`,
    }
  return {
    title: 'The server rejected the request.',
    text,
    advice: 'Correct the input and try again.',
  }
}
