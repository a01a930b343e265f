import type { ReactNode } from 'react'
import { CopyButton } from './copy-button.tsx'

interface EmptyStateProps {
  readonly title: string
  /** What the list contains, and how to create the first entry. */
  readonly children: ReactNode
  /** The command that creates the first entry. */
  readonly command?: string
  readonly action?: ReactNode
}

/** The notice of an empty list: it explains the purpose of the page. */
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
