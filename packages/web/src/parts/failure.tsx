import { useState } from 'react'
import { Link } from '../routing/link.tsx'
import { currentAddress } from '../routing/location.ts'
import { paths } from '../paths.ts'
import { describeFailure } from './describe-failure.ts'
import { Icon } from './icon.tsx'
import type { Crumb } from './page-head.tsx'

interface FailureProps {
  readonly error: unknown
  readonly retry?: (() => void) | undefined
  /** Where to go on from what cannot be shown. */
  readonly back?: Crumb | undefined
}

/** Why something cannot be shown, with the next step. */
export function Failure({ error, retry, back }: FailureProps) {
  // The failure stays until there is an answer: the button says that one is waited for.
  const [retried, setRetried] = useState<unknown>()
  const { title, text, advice, canSignIn } = describeFailure(error)
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
