import type { Node } from '@reeve/contract'
import { Panel } from '../../parts/panel.tsx'
import { SearchField } from '../../parts/search-field.tsx'

interface NodeAttributesProps {
  readonly node: Node
  /** The search text. */
  readonly searchText: string
}

/** The tab with attributes and metadata that constraints can refer to. */
export function NodeAttributes({ node, searchText }: NodeAttributesProps) {
  return (
    <>
      <search className="filters">
        <SearchField label="Search in names and values" value={searchText} />
      </search>
      <AttributeList title="Meta" prefix="meta" values={node.Meta ?? {}} searchText={searchText} />
      <AttributeList
        title="Attributes"
        prefix="attr"
        values={node.Attributes}
        searchText={searchText}
      />
    </>
  )
}

interface AttributeListProps {
  readonly title: string
  /** The prefix of the name in a constraint: `attr` in `${attr.cpu.arch}`. */
  readonly prefix: string
  readonly values: Readonly<Record<string, string>>
  readonly searchText: string
}

function AttributeList({ title, prefix, values, searchText }: AttributeListProps) {
  const text = searchText.toLowerCase()
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
                <code>{`\${${prefix}.${name}}`}</code>
              </dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
