import type { ReactNode } from 'react'
import { CopyButton } from './copy-button.tsx'

interface EmptyStateProps {
  readonly title: string
  /** What would be here, and how it comes to be. */
  readonly children: ReactNode
  /** The command that makes the first one. */
  readonly command?: string
  readonly action?: ReactNode
}

/** Nothing to show is the best moment to say what the page is for. */
export function EmptyState({ title, children, command, action }: EmptyStateProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <div className="empty-text">{children}</div>
      {command !== undefined && (
        <div className="command">
          <code tabIndex={0}>{command}</code>
          <CopyButton text={command} what="the command" />
        </div>
      )}
      {action}
    </div>
  )
}
