"""Every sentence of the page in every language, as one table; a test sees that none is missing.

`{business}`, `{amount}`, `{reference}`, `{date}` and `{email}` are filled in by the template.
"""

from enum import StrEnum
from typing import Final

from anchorhold.domain.page_link import Locale


class Screen(StrEnum):
    """What the customer sees."""

    PAY = "pay"
    CONFIRMING = "being_confirmed"
    PROCESSING = "processing"
    """A bank debit is on its way: days, not minutes."""
    PAID = "paid"
    VOID = "void"
    EXPIRED = "expired"
    NOT_FOUND = "not_found"
    UNAVAILABLE = "unavailable"
    BUSY = "too_many_requests"


EN, DE, FR, ES = Locale.EN, Locale.DE, Locale.FR, Locale.ES

# fmt: off
WORDS: Final[dict[str, dict[Locale, str]]] = {
    "pay.title": {
        EN: "Pay {business}",
        DE: "Zahlung an {business}",
        FR: "Payer {business}",
        ES: "Pagar a {business}",
    },
    "pay.button": {
        EN: "Pay {amount}",
        DE: "{amount} bezahlen",
        FR: "Payer {amount}",
        ES: "Pagar {amount}",
    },
    "pay.working": {
        EN: "One moment, please…",
        DE: "Einen Moment bitte …",
        FR: "Un instant, s’il vous plaît…",
        ES: "Un momento, por favor…",
    },
    "pay.how": {
        EN: "How would you like to pay?",
        DE: "Wie möchten Sie bezahlen?",
        FR: "Comment souhaitez-vous payer ?",
        ES: "¿Cómo desea pagar?",
    },
    "pay.secure": {
        EN: "Your payment details go straight to Stripe. {business} never sees them.",
        DE: "Ihre Zahlungsdaten gehen direkt an Stripe. {business} sieht sie nie.",
        FR: "Vos données de paiement vont directement à Stripe. {business} ne les voit jamais.",
        ES: "Sus datos de pago van directamente a Stripe. {business} nunca los ve.",
    },
    "pay.again": {
        EN: "The payment did not go through, and nothing was charged. Please try again, perhaps "
            "with another way to pay.",
        DE: "Die Zahlung ist nicht zustande gekommen, und es wurde nichts abgebucht. Bitte "
            "versuchen Sie es noch einmal, vielleicht mit einem anderen Zahlungsmittel.",
        FR: "Le paiement n’a pas abouti et rien n’a été débité. Veuillez réessayer, peut-être "
            "avec un autre moyen de paiement.",
        ES: "El pago no se ha completado y no se ha cobrado nada. Inténtelo de nuevo, quizá con "
            "otro medio de pago.",
    },
    "pay.no_script": {
        EN: "To pay, please allow JavaScript for this page: your payment details are typed into "
            "Stripe’s own form.",
        DE: "Bitte erlauben Sie zum Bezahlen JavaScript auf dieser Seite: Ihre Zahlungsdaten "
            "geben Sie in Stripes eigenes Formular ein.",
        FR: "Pour payer, veuillez autoriser JavaScript sur cette page : vos données se saisissent "
            "dans le formulaire de Stripe.",
        ES: "Para pagar, permita JavaScript en esta página: sus datos se escriben en el "
            "formulario de Stripe.",
    },
    "pay.not_loaded": {
        EN: "The payment form could not be loaded. Please check your connection and reload the "
            "page.",
        DE: "Das Zahlungsformular konnte nicht geladen werden. Bitte prüfen Sie Ihre Verbindung "
            "und laden Sie die Seite neu.",
        FR: "Le formulaire de paiement n’a pas pu être chargé. Vérifiez votre connexion et "
            "rechargez la page.",
        ES: "No se ha podido cargar el formulario de pago. Compruebe su conexión y vuelva a "
            "cargar la página.",
    },
    "being_confirmed.title": {
        EN: "Being confirmed",
        DE: "Wird bestätigt",
        FR: "En cours de confirmation",
        ES: "En confirmación",
    },
    "being_confirmed.text": {
        EN: "A payment of this invoice is being confirmed. Please do not pay again: this page "
            "shows the result by itself.",
        DE: "Eine Zahlung dieser Rechnung wird gerade bestätigt. Bitte bezahlen Sie nicht noch "
            "einmal: Diese Seite zeigt das Ergebnis von selbst.",
        FR: "Un paiement de cette facture est en cours de confirmation. Ne payez pas une seconde "
            "fois : cette page affichera le résultat d’elle-même.",
        ES: "Se está confirmando un pago de esta factura. No vuelva a pagar: esta página "
            "mostrará el resultado por sí sola.",
    },
    "processing.title": {
        EN: "On its way",
        DE: "Unterwegs",
        FR: "En route",
        ES: "En camino",
    },
    "processing.text": {
        EN: "Your bank is carrying out the payment, which can take several business days. Please "
            "do not pay again.",
        DE: "Ihre Bank führt die Zahlung aus, was mehrere Werktage dauern kann. Bitte bezahlen "
            "Sie nicht noch einmal.",
        FR: "Votre banque exécute le paiement, ce qui peut prendre plusieurs jours ouvrés. Ne "
            "payez pas une seconde fois.",
        ES: "Su banco está realizando el pago, lo que puede tardar varios días hábiles. No "
            "vuelva a pagar.",
    },
    "paid.title": {
        EN: "Paid. Thank you!",
        DE: "Bezahlt. Vielen Dank!",
        FR: "Payé. Merci !",
        ES: "Pagado. ¡Gracias!",
    },
    "paid.text": {
        EN: "{business} has received your payment.",
        DE: "{business} hat Ihre Zahlung erhalten.",
        FR: "{business} a reçu votre paiement.",
        ES: "{business} ha recibido su pago.",
    },
    "paid.print": {
        EN: "Print the receipt",
        DE: "Beleg drucken",
        FR: "Imprimer le reçu",
        ES: "Imprimir el recibo",
    },
    "void.title": {
        EN: "Nothing to pay",
        DE: "Nichts zu bezahlen",
        FR: "Rien à payer",
        ES: "Nada que pagar",
    },
    "void.text": {
        EN: "{business} does not ask for this invoice any more. You do not need to do anything.",
        DE: "{business} verlangt diese Rechnung nicht mehr. Sie müssen nichts tun.",
        FR: "{business} ne réclame plus cette facture. Vous n’avez rien à faire.",
        ES: "{business} ya no reclama esta factura. No tiene que hacer nada.",
    },
    "expired.title": {
        EN: "This link has ended",
        DE: "Dieser Link gilt nicht mehr",
        FR: "Ce lien n’est plus valable",
        ES: "Este enlace ya no es válido",
    },
    "expired.text": {
        EN: "Please ask {business} for a new one. Nothing was charged through this page.",
        DE: "Bitte lassen Sie sich von {business} einen neuen geben. Über diese Seite wurde "
            "nichts abgebucht.",
        FR: "Demandez-en un nouveau à {business}. Rien n’a été débité par cette page.",
        ES: "Pida uno nuevo a {business}. No se ha cobrado nada a través de esta página.",
    },
    "not_found.title": {
        EN: "There is no such page",
        DE: "Diese Seite gibt es nicht",
        FR: "Cette page n’existe pas",
        ES: "Esta página no existe",
    },
    "not_found.text": {
        EN: "Please check that the link is complete, for example that no letters are missing at "
            "its end.",
        DE: "Bitte prüfen Sie, ob der Link vollständig ist und etwa am Ende keine Zeichen fehlen.",
        FR: "Vérifiez que le lien est complet, par exemple qu’il ne manque aucun caractère à la "
            "fin.",
        ES: "Compruebe que el enlace esté completo, por ejemplo que no falten caracteres al "
            "final.",
    },
    "unavailable.title": {
        EN: "Not right now",
        DE: "Im Moment nicht möglich",
        FR: "Indisponible pour le moment",
        ES: "No disponible por ahora",
    },
    "unavailable.text": {
        EN: "This invoice cannot be paid here at the moment. Nothing was charged. Please try "
            "again in a few minutes, or ask {business}.",
        DE: "Diese Rechnung kann hier gerade nicht bezahlt werden. Es wurde nichts abgebucht. "
            "Bitte versuchen Sie es in einigen Minuten noch einmal, oder fragen Sie {business}.",
        FR: "Cette facture ne peut pas être payée ici pour le moment. Rien n’a été débité. "
            "Réessayez dans quelques minutes, ou demandez à {business}.",
        ES: "Esta factura no se puede pagar aquí en este momento. No se ha cobrado nada. "
            "Inténtelo de nuevo en unos minutos o pregunte a {business}.",
    },
    "too_many_requests.title": {
        EN: "A little slower, please",
        DE: "Bitte etwas langsamer",
        FR: "Un peu plus lentement",
        ES: "Un poco más despacio",
    },
    "too_many_requests.text": {
        EN: "This page was opened very often just now. Please wait a minute and reload it.",
        DE: "Diese Seite wurde gerade sehr oft geöffnet. Bitte warten Sie eine Minute und laden "
            "Sie sie dann neu.",
        FR: "Cette page vient d’être ouverte très souvent. Attendez une minute, puis "
            "rechargez-la.",
        ES: "Esta página se ha abierto muchas veces hace un momento. Espere un minuto y vuelva "
            "a cargarla.",
    },
    "invoice": {EN: "Invoice", DE: "Rechnung", FR: "Facture", ES: "Factura"},
    "amount": {EN: "Amount", DE: "Betrag", FR: "Montant", ES: "Importe"},
    "due": {EN: "Due", DE: "Fällig", FR: "Échéance", ES: "Vencimiento"},
    "paid_on": {EN: "Paid on", DE: "Bezahlt am", FR: "Payé le", ES: "Pagado el"},
    "to": {EN: "To", DE: "An", FR: "À", ES: "A"},
    "business": {EN: "the business", DE: "dem Unternehmen", FR: "l’entreprise", ES: "la empresa"},
    "test": {
        EN: "Test mode: no money moves.",
        DE: "Testmodus: Es fließt kein Geld.",
        FR: "Mode test : aucun argent ne circule.",
        ES: "Modo de prueba: no se mueve dinero.",
    },
}
"""The sentence of each name in each language."""
# fmt: on
