import { Link } from '../routing/link.tsx'
import { paths } from '../paths.ts'
import { describeFailure } from './describe-failure.ts'
import { Icon } from './icon.tsx'

interface FailureProps {
  readonly error: unknown
  readonly retry?: (() => void) | undefined
}

/** Why something cannot be shown, with the next step. */
export function Failure({ error, retry }: FailureProps) {
  const { title, text, advice, canSignIn } = describeFailure(error)
  return (
    <div className="failure" role="alert">
      <Icon name="failed" />
      <div>
        <p className="failure-title">{title}</p>
        {text !== '' && <pre className="failure-text">{text}</pre>}
        <p>{advice}</p>
        <div className="row">
          {canSignIn && (
            <Link className="button" href={paths.signIn()}>
              Sign in with a token
            </Link>
          )}
          {retry !== undefined && (
            <button type="button" className="button" onClick={retry}>
              Try again
            </button>
          )}
        </div>
      </div>
    </div>
  )
}
