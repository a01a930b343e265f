import { v2 } from '@reeve/contract'
import { CheckField, ChoiceField } from '../../parts/form.tsx'
import { permissionLabel } from './team-words.ts'

/** The permissions of a `custom` access by name: booleans or enums. */
type CustomPermissions = Readonly<Record<string, string | boolean>>

interface CustomPermissionFieldsProps<V extends CustomPermissions> {
  readonly title: string
  readonly values: V
  readonly onChange: (values: V) => void
}

const PERMISSION_CHOICES: Readonly<Record<string, readonly string[]>> = v2.ACCESS_VALUES

/** One field for each permission of a custom access. */
export function CustomPermissionFields<V extends CustomPermissions>(
  props: CustomPermissionFieldsProps<V>,
) {
  const { title, values, onChange } = props
  return (
    <fieldset className="rights">
      <legend>{title}</legend>
      {Object.entries(values).map(([name, value]) =>
        typeof value === 'boolean' ? (
          <CheckField
            key={name}
            label={permissionLabel(name)}
            value={value}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ) : (
          <ChoiceField<string>
            key={name}
            label={permissionLabel(name)}
            value={value}
            choices={PERMISSION_CHOICES[name] ?? [value]}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ),
      )}
    </fieldset>
  )
}
