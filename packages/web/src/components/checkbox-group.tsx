import '../style/cluster.css'

interface Option {
  readonly id: string
  readonly text: string
}

interface CheckboxGroupProps {
  readonly label: string
  /** Shown without options. */
  readonly emptyText: string
  readonly options: readonly Option[]
  readonly selected: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

/** A group of checkboxes. Selected options stay listed when they no longer exist. */
export function CheckboxGroup({
  label,
  emptyText,
  options,
  selected,
  onChange,
}: CheckboxGroupProps) {
  const known = new Set(options.map(({ id }) => id))
  const unknownOptions = selected.filter((id) => !known.has(id)).map((id) => ({ id, text: id }))
  const all = [...options, ...unknownOptions]
  const toggle = (id: string) =>
    onChange(selected.includes(id) ? selected.filter((one) => one !== id) : [...selected, id])
  return (
    <fieldset className="choices">
      <legend>{label}</legend>
      {all.length === 0 && <small>{emptyText}</small>}
      {all.map(({ id, text }) => (
        <label key={id} className="check">
          <input type="checkbox" checked={selected.includes(id)} onChange={() => toggle(id)} />
          {text}
        </label>
      ))}
    </fieldset>
  )
}
