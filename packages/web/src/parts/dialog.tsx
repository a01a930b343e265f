import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly className?: string
}

/** A modal dialog. The browser traps the focus and restores it on close. */
export function Dialog({ title, onClose, children, className = '' }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Closed while it is still in the document; otherwise the focus is not restored.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}
