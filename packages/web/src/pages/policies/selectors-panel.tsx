import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { selectorText } from './scope-text.ts'

interface SelectorsPanelProps {
  readonly policySet: v2.PolicySet
  readonly disabledReason: DisabledReason
}

/** Tag selectors of a policy set; inherited tags count too. */
export function SelectorsPanel({ policySet, disabledReason }: SelectorsPanelProps) {
  const callApi = useApiAction()
  const params = { policy_set_id: policySet.id }
  const selectors = policySet.attributes['tag-selectors']
  const remove = async (selector: v2.TagSelector) => {
    if (disabledReason !== undefined) return
    await callApi({
      call: (api) => api.v2.removePolicySetTagSelectors({ params, body: { data: [selector] } }),
      successMessage: 'The tag selector is removed.',
    })
  }
  return (
    <Panel title="Tag selectors">
      <div className="stack">
        {selectors.length === 0 ? (
          <p className="quiet">No tag selectors.</p>
        ) : (
          <ul className="members">
            {selectors.map((selector) => (
              <li key={selectorText(selector)}>
                <span>{selectorText(selector)}</span>
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={disabledReason !== undefined}
                  title={disabledReason}
                  onClick={() => void remove(selector)}
                >
                  <Icon name="close" label={`Remove ${selectorText(selector)}`} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <NewSelector policySet={policySet} disabledReason={disabledReason} />
      </div>
    </Panel>
  )
}

function NewSelector({ policySet, disabledReason }: SelectorsPanelProps) {
  const callApi = useApiAction()
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const [isExcluded, setExcluded] = useState(false)
  const add = async () => {
    const selector = {
      'tag-key': key,
      'tag-value': value === '' ? null : value,
      'is-exclude': isExcluded,
    }
    const result = await callApi({
      call: async (api) => {
        await api.v2.addPolicySetTagSelectors({
          params: { policy_set_id: policySet.id },
          body: { data: [selector] },
        })
        return true
      },
      successMessage: 'The tag selector is added.',
    })
    if (result === undefined) return
    setKey('')
    setValue('')
  }
  return (
    <form className="row tag-row" onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label="Whether the tag selects or excludes"
        value={isExcluded ? 'not' : 'with'}
        disabled={disabledReason !== undefined}
        onChange={({ target }) => setExcluded(target.value === 'not')}
      >
        <option value="with">with</option>
        <option value="not">without</option>
      </select>
      <input
        aria-label="Key of the tag"
        placeholder="key"
        value={key}
        disabled={disabledReason !== undefined}
        onChange={(event) => setKey(event.target.value)}
      />
      <input
        aria-label="Value of the tag"
        placeholder="any value"
        value={value}
        disabled={disabledReason !== undefined}
        onChange={(event) => setValue(event.target.value)}
      />
      <ActionButton
        disabledReason={disabledReason ?? (key === '' ? 'Fill in the key.' : undefined)}
        onAction={add}
        isSubmit
      >
        Add
      </ActionButton>
    </form>
  )
}
