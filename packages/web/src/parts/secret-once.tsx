import { CopyButton } from './copy-button.tsx'

interface NewSecretProps {
  readonly secret: string
  readonly onClose: () => void
}

/** Shows a new secret, which is never shown again. */
export function NewSecret({ secret, onClose }: NewSecretProps) {
  return (
    <>
      <p className="note tone-warn">
        This is the secret of the token. Store it safely: it is not shown again.
      </p>
      <div className="command">
        <code tabIndex={0}>{secret}</code>
        <CopyButton text={secret} what="the secret" />
      </div>
      <div className="row dialog-actions">
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}
