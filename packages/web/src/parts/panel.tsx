import { useId, type ReactNode } from 'react'

interface PanelProps {
  readonly title: string
  /** Buttons at the right of the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Removes the padding, for tables. */
  readonly isFlush?: boolean
}

/** A section of a page with a heading. */
export function Panel({ title, actions, children, isFlush = false }: PanelProps) {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      <div className={isFlush ? 'panel-body flush' : 'panel-body'}>{children}</div>
    </section>
  )
}

interface Description {
  readonly name: string
  readonly value: ReactNode
}

/** A list of names and values, such as the fields of a record. */
export function DescriptionList({ facts }: { readonly facts: readonly Description[] }) {
  return (
    <dl className="facts">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
