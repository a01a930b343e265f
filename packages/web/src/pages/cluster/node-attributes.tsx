import type { Node } from '@reeve/contract'
import { Panel } from '../../parts/panel.tsx'
import { SearchField } from '../../parts/search-field.tsx'

interface NodeAttributesProps {
  readonly node: Node
  /** The text that is looked for. */
  readonly wanted: string
}

/** What constraints of jobs can name: attributes that the agent found, meta that people set. */
export function NodeAttributes({ node, wanted }: NodeAttributesProps) {
  return (
    <>
      <search className="filters">
        <SearchField label="Search in names and values" value={wanted} />
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
