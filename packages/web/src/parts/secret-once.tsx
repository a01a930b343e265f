import { CopyButton } from './copy-button.tsx'

interface SecretOnceProps {
  readonly secret: string
  readonly onClose: () => void
}

/** A secret that was just made: to be handed over, and never shown again. */
export function SecretOnce({ secret, onClose }: SecretOnceProps) {
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
