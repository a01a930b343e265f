import type { Node } from '@reeve/contract'
import { useState } from 'react'
import { Panel } from '../../parts/panel.tsx'

/** What constraints of jobs can name: attributes that the agent found, meta that people set. */
export function NodeAttributes({ node }: { readonly node: Node }) {
  const [wanted, setWanted] = useState('')
  return (
    <>
      <search className="filters">
        <input
          type="search"
          aria-label="Search in names and values"
          placeholder="Search in names and values"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
      </search>
      <Values title="Meta" before="meta" values={node.Meta ?? {}} wanted={wanted} />
      <Values title="Attributes" before="attr" values={node.Attributes} wanted={wanted} />
    </>
  )
}

interface ValuesProps {
  readonly title: string
  /** Before the name in a constraint: `${attr.cpu.arch}`. */
  readonly before: string
  readonly values: Readonly<Record<string, string>>
  readonly wanted: string
}

function Values({ title, before, values, wanted }: ValuesProps) {
  const text = wanted.toLowerCase()
  const found = Object.entries(values)
    .filter(([name, value]) => `${name} ${value}`.toLowerCase().includes(text))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return (
    <Panel title={title} isFlush>
      {found.length === 0 ? (
        <p className="panel-body quiet">There are none{text === '' ? '' : ' like that'}.</p>
      ) : (
        <dl className="values">
          {found.map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{`\${${before}.${name}}`}</code>
              </dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
