import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { EMPTY_ROW, type ItemRow } from './items.ts'

interface ItemEditorProps {
  readonly rows: readonly ItemRow[]
  readonly onChange: (rows: readonly ItemRow[]) => void
}

/** The items of a variable as rows of key and value. */
export function ItemEditor({ rows, onChange }: ItemEditorProps) {
  const updateRow = (index: number, changes: Partial<ItemRow>) =>
    onChange(rows.map((row, rowIndex) => (rowIndex === index ? { ...row, ...changes } : row)))
  return (
    <>
      {rows.map((row, index) => (
        // Rows have no key while it is being typed.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="row item-row">
          <input
            className="mono"
            aria-label={`Key of item ${index + 1}`}
            placeholder="key"
            spellCheck={false}
            value={row.key}
            onChange={(event) => updateRow(index, { key: event.target.value })}
          />
          <textarea
            className="mono"
            aria-label={`Value of item ${index + 1}`}
            placeholder="value"
            spellCheck={false}
            rows={Math.min(8, row.value.split('\n').length)}
            value={row.value}
            onChange={(event) => updateRow(index, { value: event.target.value })}
          />
          <button
            type="button"
            className="icon-button"
            onClick={() => onChange(rows.filter((_, rowIndex) => rowIndex !== index))}
          >
            <Icon name="close" label={`Remove item ${index + 1}`} />
          </button>
        </div>
      ))}
      <div>
        <ActionButton onAction={() => onChange([...rows, EMPTY_ROW])}>Add an item</ActionButton>
      </div>
    </>
  )
}
