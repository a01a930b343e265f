import { useSession } from '../session/session.tsx'
import { CopyButton } from './copy-button.tsx'
import { curlLine, type ApiCall } from './curl-line.ts'

interface CommandLineProps {
  /** The command that does the same: `reeve job status web`; absent where there is none. */
  readonly cli?: string | undefined
  /** The request that the page makes. */
  readonly call: ApiCall
}

/** What this page does, for a terminal: the pages hold nothing back. */
export function CommandLine({ cli, call }: CommandLineProps) {
  const { api, identity } = useSession()
  const curl = curlLine(call, { address: api.address, hasToken: identity?.token !== undefined })
  return (
    <details className="command-line">
      <summary>CLI & API</summary>
      {cli !== undefined && <Line name="Command" text={cli} />}
      <Line name="Request" text={curl} />
    </details>
  )
}

function Line({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div className="command">
      <span className="command-name">{name}</span>
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} what={`the ${name.toLowerCase()}`} />
    </div>
  )
}
