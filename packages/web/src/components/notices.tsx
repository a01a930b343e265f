import type { ReactNode } from 'react'
import { paths } from '../paths.ts'
import { Link } from '../routing/link.tsx'
import { CopyButton } from './command-line.tsx'

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

/** A loading text; the style sheet shows it only after a delay. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  )
}

/** Shown instead of content that the caller may not read. */
export function PermissionNotice({ reason }: { readonly reason: string }) {
  return <p className="note tone-warn">{reason}</p>
}

export function NotFound({ path }: { readonly path: string }) {
  return (
    <EmptyState
      title="Page not found"
      action={
        <Link className="button" href={paths.jobs()}>
          Go to the jobs
        </Link>
      }
    >
      <p>
        No page has the address <code>{path}</code>.
      </p>
    </EmptyState>
  )
}
