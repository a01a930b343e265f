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
    return <Failure error={error} retry={() => this.setState({ error: undefined })} />
  }
}
