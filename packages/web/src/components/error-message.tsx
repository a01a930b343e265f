import { Component, type ReactNode, useState } from 'react'
import { ConnectionError } from '@reeve/sdk'
import { Link } from '../routing/link.tsx'
import { currentAddress } from '../routing/location.ts'
import { paths } from '../paths.ts'
import { describeError } from './errors.ts'
import { Icon } from './icon.tsx'
import type { Crumb } from './page.tsx'

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

interface State {
  readonly error: unknown
}

/** Catches errors of one page. React requires a class for this. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    // Thrown while rendering if code could not be loaded; see `lazyComponent`.
    if (error instanceof ConnectionError)
      return <ErrorMessage error={error} retry={() => void reloadOnceReached()} />
    return <ErrorMessage error={error} retry={() => this.setState({ error: undefined })} />
  }
}

/**
 * Reloads the page if the server is reachable. Browsers do not retry failed module loads until the
 * page is reloaded.
 */
async function reloadOnceReached(): Promise<void> {
  const isReached = await fetch(window.location.href).then(
    ({ ok }) => ok,
    () => false,
  )
  if (isReached) window.location.reload()
}
