import { ConnectionError } from '@reeve/sdk'
import { Component, type ReactNode } from 'react'
import { ErrorMessage } from './failure.tsx'

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
