import { ApiError, ConnectionError } from '@reeve/sdk'

interface ErrorDescription {
  readonly title: string
  readonly text: string
  readonly advice: string
  readonly canSignIn?: boolean
}

/** Returns the text of an error, with advice. */
export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiError) return describeApiError(error)
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

function describeApiError(error: ApiError): ErrorDescription {
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
        'The allocation has not started yet, or its files were deleted: a node keeps the latest ended allocations only. The overview shows its events.',
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
