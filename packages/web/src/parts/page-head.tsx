import { useEffect, type ReactNode } from 'react'
import { Link } from '../routing/link.tsx'

export interface Crumb {
  readonly text: string
  readonly href: string
}

interface PageHeaderProps {
  readonly title: string
  /** The pages above this one, outermost first. */
  readonly crumbs?: readonly Crumb[]
  /** Shown beside the title, such as a status. */
  readonly aside?: ReactNode
  readonly actions?: ReactNode
  /** One sentence under the title. */
  readonly lead?: ReactNode
}

/** The header of every page: breadcrumbs, title and actions. */
export function PageHeader({ title, crumbs = [], aside, actions, lead }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Reeve`
  }, [title])
  return (
    <header className="page-head">
      {crumbs.length > 0 && (
        <nav aria-label="Breadcrumb" className="crumbs">
          <ol>
            {crumbs.map(({ text, href }) => (
              <li key={href}>
                <Link href={href}>{text}</Link>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div className="page-title">
        <h1>{title}</h1>
        {aside}
        {actions !== undefined && <div className="row page-actions">{actions}</div>}
      </div>
      {lead !== undefined && <p className="lead">{lead}</p>}
    </header>
  )
}
