import { useSession } from '../session/session.tsx'
import { formatCurl, type ApiCall } from '../commands.ts'
import { Icon } from './icon.tsx'
import { useToast } from './toasts.tsx'

interface CliAndApiPanelProps {
  /** The equivalent command, such as `reeve job status web`; absent without one. */
  readonly cli?: string | undefined
  /** The request of the page. */
  readonly call: ApiCall
}

/** Shows the equivalent CLI command and API request of a page. */
export function CliAndApiPanel({ cli, call }: CliAndApiPanelProps) {
  const { api, identity } = useSession()
  const curl = formatCurl(call, { address: api.address, hasToken: identity?.token !== undefined })
  return (
    <details className="command-line">
      <summary>CLI & API</summary>
      {cli !== undefined && <CopyableLine name="Command" text={cli} />}
      <CopyableLine name="Request" text={curl} />
    </details>
  )
}

function CopyableLine({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div className="command">
      <span className="command-name">{name}</span>
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} what={`the ${name.toLowerCase()}`} />
    </div>
  )
}

interface CopyButtonProps {
  readonly text: string
  /** What is copied: `the command`. */
  readonly what: string
}

export function CopyButton({ text, what }: CopyButtonProps) {
  const toast = useToast()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      toast({ kind: 'good', text: `Copied ${what}.` })
    } catch {
      // Browsers allow clipboard access only on secure origins and with permission.
      toast({ kind: 'bad', text: `The browser did not allow copying ${what}.` })
    }
  }
  return (
    <button
      type="button"
      className="icon-button"
      title={`Copy ${what}`}
      onClick={() => void copy()}
    >
      <Icon name="copy" label={`Copy ${what}`} />
    </button>
  )
}
