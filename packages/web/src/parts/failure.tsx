import { useState } from 'react'
import { Link } from '../routing/link.tsx'
import { currentAddress } from '../routing/location.ts'
import { paths } from '../paths.ts'
import { describeError } from './describe-failure.ts'
import { Icon } from './icon.tsx'
import type { Crumb } from './page-head.tsx'

interface ErrorMessageProps {
  readonly error: unknown
  readonly retry?: (() => void) | undefined
  /** The page that the back button opens. */
  readonly back?: Crumb | undefined
}

/** An error with advice, and buttons to retry, sign in or go back. */
export function ErrorMessage({ error, retry, back }: ErrorMessageProps) {
  // The error stays until the retry completes; the button shows the progress.
  const [retried, setRetried] = useState<unknown>()
  const { title, text, advice, canSignIn } = describeError(error)
  return (
    <div className="failure" role="alert">
      <Icon name="failed" />
      <div>
        <p className="failure-title">{title}</p>
        {text !== '' && <pre className="failure-text">{text}</pre>}
        <p>{advice}</p>
        <div className="row">
          {back !== undefined && (
            <Link className="button" href={back.href}>
              Back to {back.text}
            </Link>
          )}
          {canSignIn && (
            <Link className="button" href={paths.signIn({ next: currentAddress() })}>
              Sign in with a token
            </Link>
          )}
          {retry !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => {
                setRetried(error)
                retry()
              }}
            >
              {retried !== undefined && retried === error ? 'Trying again…' : 'Try again'}
            </button>
          )}
        </div>
      </div>
    </div>
  )
}
