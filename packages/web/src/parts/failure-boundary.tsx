import { ConnectionError } from '@reeve/sdk'
import { Component, type ReactNode } from 'react'
import { Failure } from './failure.tsx'

interface State {
  readonly error: unknown
}

/** Keeps a fault of one page from taking the others with it. React knows this only as a class. */
export class FailureBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    // Drawing throws it where code could not be loaded; see `lazyPart`.
    if (error instanceof ConnectionError)
      return <Failure error={error} retry={() => void reloadOnceReached()} />
    return <Failure error={error} retry={() => this.setState({ error: undefined })} />
  }
}

/**
 * A browser does not ask again for code that it could not load, until the whole page is loaded
 * anew; which must not be done while there is nobody to load it from.
 */
async function reloadOnceReached(): Promise<void> {
  const isReached = await fetch(window.location.href).then(
    ({ ok }) => ok,
    () => false,
  )
  if (isReached) window.location.reload()
}
