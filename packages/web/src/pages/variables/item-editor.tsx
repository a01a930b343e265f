import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { NO_ROW, type ItemRow } from './items.ts'

interface ItemEditorProps {
  readonly rows: readonly ItemRow[]
  readonly onChange: (rows: readonly ItemRow[]) => void
}

/** The items of a variable as rows of key and value. */
export function ItemEditor({ rows, onChange }: ItemEditorProps) {
  const change = (index: number, part: Partial<ItemRow>) =>
    onChange(rows.map((row, place) => (place === index ? { ...row, ...part } : row)))
  return (
    <>
      {rows.map((row, index) => (
        // Rows have no name of their own while their key is typed.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="row item-row">
          <input
            className="mono"
            aria-label={`Key of item ${index + 1}`}
            placeholder="key"
            spellCheck={false}
            value={row.key}
            onChange={(event) => change(index, { key: event.target.value })}
          />
          <textarea
            className="mono"
            aria-label={`Value of item ${index + 1}`}
            placeholder="value"
            spellCheck={false}
            rows={Math.min(8, row.value.split('\n').length)}
            value={row.value}
            onChange={(event) => change(index, { value: event.target.value })}
          />
          <button
            type="button"
            className="icon-button"
            onClick={() => onChange(rows.filter((_, place) => place !== index))}
          >
            <Icon name="close" label={`Remove item ${index + 1}`} />
          </button>
        </div>
      ))}
      <div>
        <ActionButton onAct={() => onChange([...rows, NO_ROW])}>Add an item</ActionButton>
      </div>
    </>
  )
}
