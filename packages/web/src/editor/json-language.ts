import { StreamLanguage } from '@codemirror/language'

/** Highlighting of JSON. */
export const jsonLanguage = StreamLanguage.define<null>({
  name: 'json',
  token: (stream) => {
    if (stream.eatSpace()) return null
    if (stream.match(/^"(?:[^"\\]|\\.)*"(?=\s*:)/)) return 'propertyName'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
    stream.next()
    return 'operator'
  },
})
