import { useToast } from './toasts.tsx'
import { Icon } from './icon.tsx'

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
